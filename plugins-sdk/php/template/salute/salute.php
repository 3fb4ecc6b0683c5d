<?php
/* A task type in PHP. Rename it, and `salute` in salute.yaml, to what yours is called. */
declare(strict_types=1);

require __DIR__ . '/SirdarRunner.php';

use Sirdar\Fatal;
use Sirdar\Job;

Sirdar\serve(function (Job $job): void {
    $times = $job->paramInt('times', 1);
    if ($times < 1 || $times > 1000) {
        throw new Fatal("times is $times, want 1..1000");
    }
    for ($i = 1; $i <= $times; $i++) {
        $job->check(); /* ends the job when it is told to stop */
        echo 'hello ', $job->param('name', 'world'), " $i\n";
        $job->progress(intdiv(1000 * $i, $times));
    }
    $job->output('said', $times);
}, 'salute', '1.0');
