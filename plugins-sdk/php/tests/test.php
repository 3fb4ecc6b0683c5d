<?php
/* The SDK against a broker made of two pipes. Prints TAP. */
declare(strict_types=1);

$guest = <<<'PHP'
require getenv('SDK');
Sirdar\serve(function (Sirdar\Job $job) {
    match ($job->param('do', 'hello')) {
        'hello' => print('hello ' . $job->param('name', 'world') . "\n"),
        'fatal' => throw new Sirdar\Fatal('no'),
        'throw' => throw new RuntimeException('oops'),
        'not_yet' => throw new Sirdar\NotYet('later', 1.5),
        'wait' => $job->pause(600),
        'exit' => exit(3),
        'secret' => $job->output('got', $job->secret('key')),
        'int' => $job->paramInt('n'),
    };
    return $job->params['code'] ?? 0;
});
PHP;
$count = $failed = 0;

function check(string $what, bool $is): void
{
    global $count, $failed;
    $count++;
    $failed += $is ? 0 : 1;
    echo $is ? 'ok' : 'not ok', " $count - $what\n";
}

function start(): array
{
    global $guest;
    $pipes = [];
    $process = proc_open([PHP_BINARY, '-r', $guest], [0 => ['file', '/dev/null', 'r'], 1 => ['pipe', 'w'], 2 => ['file', '/dev/null', 'w'],
        3 => ['pipe', 'r'], 4 => ['pipe', 'w']], $pipes, null, ['SIRDAR_GUEST' => '1', 'SDK' => __DIR__ . '/../SirdarRunner.php']);
    tell($pipes, ['op' => 'hello', 'protocol' => 1, 'type' => 't']);
    return [$process, $pipes, hear($pipes)];
}

function tell(array $pipes, array $m): void
{
    fwrite($pipes[3], json_encode($m) . "\n");
}

function hear(array $pipes): array
{
    return json_decode((string) fgets($pipes[4]), true) ?? [];
}

function job(array $pipes, array $params, array $more = []): array
{
    static $id = 0;
    tell($pipes, ['op' => 'run', 'job' => ++$id, 'params' => (object) $params] + $more);
    return hear($pipes);
}

[$process, $pipes, $hello] = start();
check('it says hello, one job at a time, no beats', $hello['protocol'] === 1 && $hello['beats'] === false);
check('a job that returns nothing succeeds', job($pipes, [])['exit_code'] === 0);
check('what it prints is the log', fgets($pipes[1]) === "hello world\n");
check('a returned number is the exit code', job($pipes, ['code' => '7'])['exit_code'] === 7);
$end = job($pipes, ['do' => 'fatal']);
check('Fatal is fatal', $end['verdict'] === 'fatal' && $end['text'] === 'no');
$end = job($pipes, ['do' => 'throw']);
check('another exception fails the job by its name', $end['exit_code'] === 1 && $end['text'] === 'RuntimeException: oops');
$end = job($pipes, ['do' => 'not_yet']);
check('NotYet says when to ask again', $end['verdict'] === 'not_yet' && $end['retry_after_ms'] === 1500);
check('a parameter that is no number is fatal', job($pipes, ['do' => 'int', 'n' => 'x'])['verdict'] === 'fatal');
$said = job($pipes, ['do' => 'secret', 'key' => 'pw'], ['secrets' => ['pw' => 'tulip']]);
check('a secret is found by the parameter that names it', $said['op'] === 'output' && $said['value'] === 'tulip');
hear($pipes);
tell($pipes, ['op' => 'run', 'job' => 99, 'params' => ['do' => 'wait']]);
tell($pipes, ['op' => 'ping', 'n' => 5]);
check('a pause answers pings', hear($pipes) === ['op' => 'pong', 'n' => 5]);
tell($pipes, ['op' => 'kill', 'job' => 99]);
check('a pause ends when the job is told to stop', hear($pipes)['exit_code'] === -15);
check('exit() in a job fails it', job($pipes, ['do' => 'exit'])['exit_code'] === 1);
fclose($pipes[3]);
proc_close($process);
[$process, $pipes] = start();
tell($pipes, ['op' => 'bye']);
check('it leaves when told to', proc_close($process) === 0);
echo "1..$count\n";
exit($failed ? 1 : 0);
