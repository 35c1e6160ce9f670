#!/usr/bin/env bash
#SBATCH -J a -N2 -n 4 -G h100:4 -c 2
#SBATCH --mem-per-cpu=1G --time=1-2:3:4 --array=0-9%2
#SBATCH --dependency=afterok:a:b,afterany:c --export=NONE,A=1 --signal=B:USR1@60
#SBATCH --qos=x --nice=5 --no-requeue "--chdir=/a b"
srun -n 2 hostname
#SBATCH --below
