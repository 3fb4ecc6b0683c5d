module sirdar/runner

go 1.19
