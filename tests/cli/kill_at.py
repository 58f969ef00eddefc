"""Kills a program when it has written so much.

Usage: kill_at.py FOLDER BYTES COMMAND...
Runs the command and sends it SIGKILL as soon as the files in FOLDER hold BYTES bytes or more. Prints
"killed HELD" with what they held then, or "ended CODE" if it ended before.
"""
import os
import subprocess
import sys
import time

folder, limit = sys.argv[1], int(sys.argv[2])


def held():
    total = 0
    for base, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(base, name)).st_size
            except FileNotFoundError:  # renamed in between
                pass
    return total


with open(os.devnull, "rb") as nothing:
    program = subprocess.Popen(sys.argv[3:], stdin=nothing, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
while program.poll() is None and held() < limit:
    time.sleep(0.0005)
if program.poll() is None:
    program.kill()
    program.wait()
if program.returncode == -9:
    print("killed", held())
else:
    print("ended", program.returncode)
