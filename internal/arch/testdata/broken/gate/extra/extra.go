package extra // under the wall of gate
