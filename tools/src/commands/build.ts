import { build as compile, buildConsole } from '../build.ts';

/** Runs `npm run build`: it builds everything, tools, tests and the console included. */
export async function build(): Promise<number> {
  await compile();
  await buildConsole();
  return 0;
}
