module hail

go 1.19

require sirdar/runner v1.0.0

replace sirdar/runner => ./sirdar
