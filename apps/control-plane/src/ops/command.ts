/** Holds the exit statuses of every command; 130 and 143 are those of an interrupted one. */
export const EXIT = {
  /** The command did its work, or found nothing to do. */
  done: 0,
  /** A check found a fault. */
  unsound: 1,
  /** The command could not do its work: wrong arguments, or a failure that the message names. */
  failed: 2,
  /** Balances were not compared: traffic did not rest in time. */
  unresting: 3,
} as const;

export class UsageError extends Error {}

export interface Call {
  args: readonly string[];
  /** Says what it would do, and changes nothing. */
  isDryRun: boolean;
  /** Is true for `--although-day-was-dropped`. */
  isConfirmed: boolean;
}

export interface Command {
  /** Shows its arguments in the help. */
  synopsis?: string;
  says: string;
  /** Answers the exit status. */
  run: (call: Call) => Promise<number>;
}

/** Writes a line of the result. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line about the work, apart from the result. */
export function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Returns exactly one argument; its absence or more of them are wrong usage. */
export function onlyArgument({ args: [first, ...rest] }: Call, what: string): string {
  if (first === undefined || rest.length > 0) throw new UsageError(`This command takes ${what}.`);
  return first;
}

export function noArguments({ args }: Call): void {
  if (args.length > 0)
    throw new UsageError(`This command does not take ${JSON.stringify(args[0])}.`);
}

export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}
