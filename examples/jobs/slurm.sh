#!/bin/bash
#SBATCH --job-name=digits-sbatch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gres=gpu:2
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=00:10:00
#SBATCH --signal=TERM@30
#SBATCH --output=digits-%j.log

# Every task runs this script; `srun` here is just the command behind it.
srun python3 examples/digits.py --steps 200
