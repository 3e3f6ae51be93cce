/** `npm run bench -- <name> [arguments]`: one file a measurement. Figures worth keeping go into bench/results.md. */
const BENCHES: Readonly<Record<string, () => Promise<(args: readonly string[]) => Promise<void>>>> =
  {
    proxy: async () => (await import('./proxy.ts')).benchProxy,
    'usage-logs': async () => (await import('./usage-logs.ts')).benchUsageLogs,
    statistics: async () => (await import('./statistics.ts')).benchStatistics,
  };

const [name = '', ...args] = process.argv.slice(2);
const load = BENCHES[name];
if (load) {
  const bench = await load();
  await bench(args);
} else {
  process.stderr.write(`Which one? npm run bench -- ${Object.keys(BENCHES).join(' | ')}\n`);
  process.exitCode = 1;
}
