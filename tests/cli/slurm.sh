# slurm.sh - a Slurm of one node for a test, on loopback, in the folder slurm of the test's scratch
# folder; sourced after harness.sh. start_slurm starts munged, slurmctld and slurmd from the packages
# slurmctld, slurmd, slurm-client and munge, with files of their own and nothing of the machine's; they
# end with the script. Skips where a program is missing or the test is not root's.

# slurm_wait WHAT COMMAND...: until the command is true, at most two minutes
slurm_wait() {
    waited=$1
    shift
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -ge 600 ]; then
            for log in slurm/*.log *.log; do
                [ -f "$log" ] && echo "$log:" && tail -n 5 "$log"
            done
            fail "Slurm: waited in vain for $waited"
        fi
        sleep 0.2
    done
}

free_ports() { # COUNT
    python3 - "$1" <<'PYTHON'
import socket, sys
all = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in all:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in all])
PYTHON
}

# Nothing that Slurm started outlives the script, however it ends.
stop_slurm() {
    scancel --state=PENDING --me 2>/dev/null
    scancel --signal=KILL --full --me 2>/dev/null
    tries=0
    while [ -n "$(squeue -h --states=RUNNING,COMPLETING 2>/dev/null)" ] && [ $tries -lt 50 ]; do
        tries=$((tries + 1))
        scancel --me 2>/dev/null
        sleep 0.2
    done
    # shellcheck disable=SC2086
    [ -z "$pid" ] || kill -9 $pid 2>/dev/null
    cd / && rm -rf "$scratch"
}

node_is_idle() { sinfo -h -o %T | grep -qx idle; }

start_slurm() {
    PATH=$PATH:/usr/sbin:/sbin
    for program in munged slurmctld slurmd sbatch srun scontrol squeue; do
        command -v $program >/dev/null 2>&1 || skip "no $program"
    done
    has_python || skip "no python3"
    [ "$(id -u)" = 0 ] || skip "Slurm's daemons want root"
    mkdir -m 755 slurm slurm/spool slurm/state
    chmod 755 . # the daemons look at who may write to the folders above
    node=$(hostname -s)
    # shellcheck disable=SC2046
    set -- $(free_ports 2)
    head -c 1024 /dev/urandom >slurm/munge.key
    chmod 400 slurm/munge.key
    cat >slurm/slurm.conf <<CONFIG
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$2
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/slurm/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmctldPidFile=$scratch/slurm/slurmctld.pid
SlurmdPidFile=$scratch/slurm/slurmd.pid
SlurmctldLogFile=$scratch/slurm/slurmctld.log
SlurmdLogFile=$scratch/slurm/slurmd.log
SlurmdSpoolDir=$scratch/slurm/spool
StateSaveLocation=$scratch/slurm/state
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=1,batch_sched_delay=0,requeue_delay=1
KillWait=2
MinJobAge=3600
JobRequeue=1
NodeName=$node NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONFIG
    # The machine's own cgroup.conf, or its lack, is not for the test to judge.
    echo 'CgroupPlugin=cgroup/v1' >slurm/cgroup.conf
    SLURM_CONF=$scratch/slurm/slurm.conf
    export SLURM_CONF PATH
    trap stop_slurm EXIT
    munged --foreground --force --socket="$scratch/slurm/munge.socket" --key-file=slurm/munge.key \
        --pid-file="$scratch/slurm/munge.pid" --seed-file="$scratch/slurm/munge.seed" \
        --log-file="$scratch/slurm/munge.log" 2>slurm/munged.log &
    pid="$pid $!"
    slurm_wait munged test -S slurm/munge.socket
    slurmctld -D -i 2>slurm/controller.log >&2 &
    pid="$pid $!"
    slurmd -D 2>slurm/node.log >&2 &
    pid="$pid $!"
    slurm_wait "the node" node_is_idle
}
