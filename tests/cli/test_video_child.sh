#!/bin/sh
# The child processes of 'ocelli video FILE' end with it: after Ctrl-C, after SIGKILL, after an answer.
. "${0%/*}/harness.sh"
command -v ffmpeg >/dev/null 2>&1 || skip "ffmpeg is not installed"
has_python || skip "python3 is not installed"

# Programs in the place of ffprobe and ffmpeg: the first tells of frames, the second sends two and then
# waits for ever, as a real one would on a disk that hangs. Each writes its process id.
mkdir bin
cat >bin/ffprobe <<'SCRIPT'
#!/bin/sh
echo $$ >probe.pid
for ticks in 0 1 2 3 4 5; do echo "packet|pts=$ticks|dts=$ticks|duration=1|flags=K_"; done
echo "stream|codec_name=ffv1|width=64|height=64|r_frame_rate=2/1|avg_frame_rate=2/1|time_base=1/2"
[ ! -e hang_probe ] || exec sleep 1000
SCRIPT
cat >bin/ffmpeg <<'SCRIPT'
#!/bin/sh
echo $$ >child.pid
cat <&0 >stdin_was
ls -l /proc/self/fd >descriptors 2>/dev/null
for ticks in 0 1; do
    echo "[Parsed_showinfo_1 @ 0x1] [info] n: $ticks pts: $ticks pts_time:0" >&2
    { printf 'P6\n64 64\n255\n'; head -c 12288 /dev/zero; }
done
[ ! -e ends ] || exit 1
exec sleep 1000
SCRIPT
chmod +x bin/ffprobe bin/ffmpeg
: >clip.mkv
PATH=$scratch/bin:$PATH
export PATH

# wait_for COMMAND: up to 20 seconds until it is true
wait_for() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] || fail "waited in vain for: $1"
        sleep 0.05
    done
}
# gone FILE: the process whose id it holds is not there, not even as a zombie
gone() { ! kill -0 "$(cat "$1")" 2>/dev/null; }

begin() { # begin FILE: runs until the child has written its id
    rm -f "$1"
    ran="video clip.mkv, $1"
    "$OCELLI" video clip.mkv -m "$MODEL" -q >out 2>err </dev/null &
    pid=$!
    wait_for "[ -s $1 ]"
}

for signal in INT TERM HUP; do
    begin child.pid
    kill -$signal $pid
    wait $pid
    code=$?
    expect_code 130
    expect_no_out
    expect_no_err
    gone child.pid || fail "ffmpeg lives on after SIG$signal"
done
: >hang_probe
begin probe.pid
kill -INT $pid
wait $pid
code=$?
expect_code 130
gone probe.pid || fail "ffprobe lives on"
rm hang_probe

# Killed without a chance to say so, it leaves no child behind either.
begin child.pid
kill -KILL $pid
wait $pid 2>/dev/null
wait_for 'gone child.pid'
pid=''

# A child that ends early: the frames that came are used, the others reported; --strict fails.
: >ends
run video clip.mkv --dry-run -m "$MODEL"
expect_code 0
expect_out_has '6 found, 2 used'
for n in 2 3 4 5; do expect_err_has "frame 'frame $n' left out"; done
run video clip.mkv --strict -m "$MODEL"
expect_code 1
expect_no_out
expect_err_has "frame 'frame 2': "
[ ! -s stdin_was ] || fail "the child could read from stdin"
# stdin, stdout, stderr and what ls itself opened: nothing of the model, nothing of ours.
if [ -s descriptors ]; then
    [ "$(grep -c -e '->' descriptors)" -le 4 ] || fail "the child inherited more: $(cat descriptors)"
fi

# Frames in a form that was not asked for.
sed 's/P6/P5/' bin/ffmpeg >bin/other
mv bin/other bin/ffmpeg
chmod +x bin/ffmpeg
run video clip.mkv -m "$MODEL"
expect_refusal 'frames came in another form than asked'
printf '#!/bin/sh\nexec head -c 100000000 /dev/zero\n' >bin/ffmpeg
run video clip.mkv -m "$MODEL"
expect_refusal 'frames came in another form than asked'
printf '#!/bin/sh\necho "P6 99999999 99999999 255"\n' >bin/ffmpeg
run video clip.mkv -m "$MODEL"
expect_refusal 'frames came in another form than asked|frames of 99999999x99999999 pixels'
printf '#!/bin/sh\nyes "packet|pts=1|flags=K_"\n' >bin/ffprobe
run video clip.mkv -m "$MODEL"
expect_refusal 'more than 16777216 frames'
exit 0
