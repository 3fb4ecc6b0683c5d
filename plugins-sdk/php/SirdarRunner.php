<?php
/* SirdarRunner.php — runners of Sirdar's task types in PHP 8: one process, job after job. No extension needed.
 *
 *     require 'SirdarRunner.php';
 *     Sirdar\serve(function (Sirdar\Job $job): void { echo "hello ", $job->param('name', 'world'), "\n"; });
 *
 * The protocol is FOREIGN.md.
 */
declare(strict_types=1);

namespace Sirdar;

const VERSION = '1.0';
const PROTOCOL = 1;
const SIGTERM = 15;

/** A job that did not succeed; throw one of those below. */
abstract class Failure extends \Exception
{
    public string $verdict = 'retry';
    public int $retryAfterMs = 0;
}

/** Trying again may help. */
class Retry extends Failure
{
}

/** Trying again cannot help. */
class Fatal extends Failure
{
    public string $verdict = 'fatal';
}

/** Not the job's fault; burns no attempt. */
class Infrastructure extends Failure
{
    public string $verdict = 'infra';
}

/** A sensor: ask again, not before so many seconds. */
class NotYet extends Failure
{
    public string $verdict = 'not_yet';

    public function __construct(string $text = '', float $retryAfter = 0.0)
    {
        parent::__construct($text);
        $this->retryAfterMs = (int) ($retryAfter * 1000);
    }
}

/** The job was told to stop: from check() and pause(). */
class Cancelled extends \Exception
{
}

/** Lines of descriptors 3 and 4. */
final class Link
{
    /** @var resource */
    private $in;
    /** @var resource */
    private $out;
    private string $rest = '';
    /** @var list<array<string, mixed>> */
    private array $queue = [];
    private bool $isOver = false;

    /** @param resource $in  @param resource $out */
    public function __construct($in, $out)
    {
        $this->in = $in;
        $this->out = $out;
        stream_set_blocking($in, false);
    }

    /** @param array<string, mixed> $message */
    public function send(array $message): void
    {
        $line = json_encode($message, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE
            | JSON_THROW_ON_ERROR) . "\n";
        while ($line !== '') {
            $n = fwrite($this->out, $line);
            if ($n === false || $n === 0) {
                exit(1); /* the broker is gone */
            }
            $line = substr($line, $n);
        }
        fflush($this->out);
    }

    /** Take in what has come; wait so long for the first of it (null: for ever). */
    public function listen(?float $seconds): void
    {
        $read = [$this->in];
        $none = null;
        $whole = $seconds === null ? null : (int) $seconds;
        $micro = $seconds === null ? null : (int) (($seconds - (int) $seconds) * 1e6);
        if ($this->isOver || @stream_select($read, $none, $none, $whole, $micro) < 1) {
            return;
        }
        $bytes = fread($this->in, 65536);
        if ($bytes === '' || $bytes === false) {
            $this->isOver = feof($this->in);
            return;
        }
        $lines = explode("\n", $this->rest . $bytes);
        $this->rest = (string) array_pop($lines);
        foreach ($lines as $line) {
            if ($line !== '') {
                $this->queue[] = json_decode($line, true, 64, JSON_THROW_ON_ERROR);
            }
        }
    }

    /** The next message, or null at the end. @return array<string, mixed>|null */
    public function next(): ?array
    {
        while (!$this->queue && !$this->isOver) {
            $this->listen(null);
        }
        return array_shift($this->queue);
    }

    /** Was this job told to stop? Pings that came are answered. */
    public function isKilled(int $job): bool
    {
        $this->listen(0.0);
        foreach ($this->queue as $i => $message) {
            if ($message['op'] === 'ping') {
                $this->send(['op' => 'pong', 'n' => $message['n']]);
                unset($this->queue[$i]);
            } elseif ($message['op'] === 'kill' && $message['job'] === $job) {
                unset($this->queue[$i]);
                $this->queue = array_values($this->queue);
                return true;
            }
        }
        $this->queue = array_values($this->queue);
        return false;
    }
}

final class Job
{
    public readonly int $id;
    public readonly string $type;
    public readonly string $task;
    public readonly int $taskId;
    /** Fence: larger is newer. Digits, for it may need more than 63 bits. */
    public readonly string $token;
    /** Data time, seconds since 1970 UTC. */
    public readonly int $runDate;
    public readonly int $part;
    public readonly int $generation;
    public readonly int $attempt;
    public readonly int $budgetMs;
    public readonly int $graceMs;
    public readonly string $timezone;
    /** @var array<string, string> */
    public readonly array $params;
    /** @var array<string, string> */
    private array $secrets;
    private bool $isCancelled = false;

    /** @param array<string, mixed> $m */
    public function __construct(array $m, private Link $link)
    {
        $this->id = $m['job'];
        $this->type = $m['type'] ?? '';
        $this->task = $m['task'] ?? '';
        $this->taskId = $m['task_id'] ?? 0;
        $this->token = $m['token'] ?? '0';
        $this->runDate = $m['run_date'] ?? 0;
        $this->part = $m['part'] ?? 0;
        $this->generation = $m['generation'] ?? 0;
        $this->attempt = $m['attempt'] ?? 0;
        $this->budgetMs = $m['budget_ms'] ?? 0;
        $this->graceMs = $m['grace_ms'] ?? 0;
        $this->timezone = $m['timezone'] ?? '';
        $this->params = $m['params'] ?? [];
        $this->secrets = $m['secrets'] ?? [];
    }

    /** A parameter; one that misses and has no default is Fatal. */
    public function param(string $name, ?string $default = null): string
    {
        return $this->params[$name] ?? $default ?? throw new Fatal("parameter $name is missing");
    }

    public function paramInt(string $name, ?int $default = null): int
    {
        $text = $this->params[$name] ?? null;
        if ($text === null && $default !== null) {
            return $default;
        }
        $value = filter_var($this->param($name), FILTER_VALIDATE_INT);
        return $value === false ? throw new Fatal("parameter $name is '$text', want a whole number") : $value;
    }

    /** A list or a map. @return array<mixed> */
    public function paramJson(string $name): array
    {
        $value = json_decode($this->param($name), true);
        return is_array($value) ? $value : throw new Fatal("parameter $name is no list and no map");
    }

    /** A secret, by the name of the parameter that names it, or by its own. */
    public function secret(string $name): string
    {
        return $this->secrets[$this->params[$name] ?? ''] ?? $this->secrets[$name]
            ?? throw new Fatal("secret $name is not given to this task");
    }

    public function progress(int $permille, ?string $text = null): void
    {
        $m = ['op' => 'progress', 'job' => $this->id, 'permille' => max(0, min(1000, $permille))];
        $this->link->send($text === null ? $m : $m + ['text' => $text]);
    }

    /** A value for the job's children; a repeated name replaces. */
    public function output(string $name, string|int|float $value): void
    {
        $this->link->send(['op' => 'output', 'job' => $this->id, 'name' => $name, 'value' => (string) $value]);
    }

    /** A line of the job's log; echo does as well. */
    public function log(string $text, string $stream = 'out'): void
    {
        foreach (pieces($text . "\n") as $part) {
            $this->link->send(['op' => 'log', 'job' => $this->id, 'stream' => $stream, 'text' => $part]);
        }
    }

    /** Should it stop? Look in long loops: nothing interrupts the job. */
    public function isCancelled(): bool
    {
        return $this->isCancelled = $this->isCancelled || $this->link->isKilled($this->id);
    }

    public function check(): void
    {
        if ($this->isCancelled()) {
            throw new Cancelled();
        }
    }

    /** sleep(), but Cancelled as soon as it should stop. */
    public function pause(float $seconds): void
    {
        $end = microtime(true) + $seconds;
        while (true) {
            $this->check();
            $left = $end - microtime(true);
            if ($left <= 0) {
                return;
            }
            $this->link->listen($left);
        }
    }
}

/** Pieces of a long text, never through a letter. @return list<string> */
function pieces(string $text): array
{
    return preg_match_all('/.{1,50000}/su', $text, $found) ? $found[0] : str_split($text, 50000);
}

/** What the job's function came to. @return array<string, mixed> */
function end_of(callable $run, Job $job): array
{
    try {
        return ['exit_code' => (int) ($run($job) ?? 0)];
    } catch (Cancelled) {
        return ['exit_code' => -SIGTERM, 'text' => 'stopped when it was told to'];
    } catch (Failure $e) {
        return ['exit_code' => $e instanceof NotYet ? 0 : 1, 'verdict' => $e->verdict, 'text' => $e->getMessage(),
            'retry_after_ms' => $e->retryAfterMs];
    } catch (\Throwable $e) {
        fwrite(STDERR, "$e\n");
        return ['exit_code' => 1, 'text' => get_class($e) . ': ' . $e->getMessage()];
    }
}

/** Take jobs until the broker is gone. What $run returns is the exit code (null: 0). */
function serve(callable $run, string $name = '', string $version = ''): never
{
    if (getenv('SIRDAR_GUEST') === false) {
        fwrite(STDERR, "This is a runner of Sirdar; a broker starts it, or: sirdar-runner-run TYPE.yaml --job job.yaml\n");
        exit(64);
    }
    $link = new Link(fopen('php://fd/3', 'r'), fopen('php://fd/4', 'w'));
    $running = null;
    register_shutdown_function(function () use ($link, &$running): void {
        if ($running !== null) { /* exit() in a job, or an error that PHP does not throw */
            $why = error_get_last()['message'] ?? 'the job called exit()';
            $link->send(['op' => 'done', 'job' => $running->id, 'exit_code' => 1, 'text' => substr($why, 0, 2000)]);
        }
    });
    while (($m = $link->next()) !== null && $m['op'] !== 'bye') {
        if ($m['op'] === 'hello') {
            $link->send(['op' => 'hello', 'protocol' => PROTOCOL, 'name' => $name, 'version' => $version,
                'sdk' => 'php/' . VERSION . ' ' . PHP_VERSION, 'beats' => false]);
        } elseif ($m['op'] === 'ping') {
            $link->send(['op' => 'pong', 'n' => $m['n']]);
        } elseif ($m['op'] === 'run') {
            $running = new Job($m, $link);
            $end = end_of($run, $running);
            while (ob_get_level() > 0) {
                ob_end_flush();
            }
            flush();
            $id = $running->id;
            $running = null;
            $link->send(['op' => 'done', 'job' => $id] + $end);
        }
    }
    exit(0);
}
