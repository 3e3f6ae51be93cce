import { build as compile } from '../build.ts';

/** `npm run build`: everything, tools and tests included. */
export async function build(): Promise<number> {
  await compile();
  return 0;
}
