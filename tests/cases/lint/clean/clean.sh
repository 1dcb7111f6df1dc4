#!/bin/bash
#SBATCH --nodes=1
torchrun --standalone --nproc-per-node=8 train.py
