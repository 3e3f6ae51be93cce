import { InvalidArgumentError, type Command } from 'commander';
import type { Shared } from './connection.ts';

export interface Paged extends Shared {
  page: number;
  pageSize: number;
  search?: string;
}

/** Options of every list. */
export function paging(command: Command): Command {
  return command
    .option('--page <number>', 'page to show', numberArgument, 1)
    .option('--page-size <number>', 'rows a page, at most 100', numberArgument, 50)
    .option('--search <text>', 'part of a name');
}

/** A whole number, 0 or more. */
export function numberArgument(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
