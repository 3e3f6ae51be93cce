/**
 * Prints the help of a command when it is requested, and returns whether it was. It throws for an unknown option, because a mistyped one must not start
 * or stop everything.
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
