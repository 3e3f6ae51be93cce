/**
 * Prints the help of a command when it is asked for, and says whether it was. Throws for an option that the command does
 * not have: a mistyped one must not start or stop everything instead.
 */
export function printsHelp(
  args: readonly string[],
  { command, options = [], does }: { command: string; options?: readonly string[]; does: string },
): boolean {
  const usage = [command, ...(options.length > 0 ? ['--'] : []), ...options.map((o) => `[${o}]`)];
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    console.log(`${usage.join(' ')}\n  ${does}`);
    return true;
  }
  const unknown = args.filter((arg) => !options.includes(arg));
  if (unknown.length > 0)
    throw new Error(`${command} has no option ${unknown.join(' ')}.\n  Fix: ${usage.join(' ')}`);
  return false;
}
