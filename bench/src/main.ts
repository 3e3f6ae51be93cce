/** Runs `npm run bench [-- <name> [arguments]]`, one file for each measurement; without a name it measures the hot path. Figures worth keeping go into bench/results.md. */
const BENCHES: Readonly<Record<string, () => Promise<(args: readonly string[]) => Promise<void>>>> =
  {
    'hot-path': async () => (await import('./hot-path.ts')).benchHotPath,
    'usage-logs': async () => (await import('./usage-logs.ts')).benchUsageLogs,
    redis: async () => (await import('./redis.ts')).benchRedis,
    console: async () => (await import('./console.ts')).benchConsole,
    peers: async () => (await import('./peers.ts')).benchPeers,
    estimates: async () => (await import('./estimates/estimates.ts')).benchEstimates,
    tracing: async () => (await import('./tracing.ts')).benchTracing,
    providers: async () => (await import('./providers.ts')).benchProviders,
    statistics: async () => (await import('./statistics.ts')).benchStatistics,
    top: async () => (await import('./top.ts')).benchTop,
  };

const [first = '', ...others] = process.argv.slice(2);
const isNamed = first !== '' && !first.startsWith('--');
const load = BENCHES[isNamed ? first : 'hot-path'];
if (load) {
  const bench = await load();
  await bench(isNamed ? others : process.argv.slice(2));
} else {
  process.stderr.write(`Which one? npm run bench -- ${Object.keys(BENCHES).join(' | ')}\n`);
  process.exitCode = 1;
}
