import { spawn } from 'node:child_process';
import path from 'node:path';
import { APP_PROJECTS } from '../build.ts';
import { BIN_FOLDER, ROOT } from '../checkout.ts';
import { findFreePort } from '../process/free-port.ts';
import { becomeSupervisor, prepareDemo, superviseUntilSignal } from './start.ts';

/** Runs `npm run dev`: the stack of `npm start`, rebuilt and restarted whenever a source file changes. */
export async function dev(): Promise<number> {
  if (!(await becomeSupervisor())) {
    console.error('Tollgate already runs in this checkout.\n  Fix: npm stop');
    return 1;
  }
  const code = await superviseUntilSignal(
    async (stack, secrets) => {
      const text = await prepareDemo(stack, secrets);
      watchSources();
      const address = await serveConsole(stack.baseUrl);
      return `${text}\nConsole with hot reload:  ${address}\nWatching for changes ...`;
    },
    { nodeOptions: ['--watch', '--watch-preserve-output'] },
  );
  return code;
}

/**
 * Node restarts an app when one of its loaded files changes; this process writes those files. It ends with the command, because it is in the same
 * process group and writes to its output.
 */
function watchSources(): void {
  const compiler = spawn(
    path.join(BIN_FOLDER, 'tsc'),
    ['-b', '-w', '--preserveWatchOutput', ...APP_PROJECTS],
    { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  process.on('exit', () => compiler.kill());
}

/** Vite serves the sources and passes everything else to the running installation. It ends with the command, too. */
async function serveConsole(baseUrl: string): Promise<string> {
  const folder = path.join(ROOT, 'apps', 'console');
  const port = await findFreePort();
  const vite = spawn(
    path.join(folder, 'node_modules', '.bin', 'vite'),
    ['--port', String(port), '--strictPort', '--clearScreen', 'false'],
    {
      cwd: folder,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, TOLLGATE_ADDRESS: baseUrl },
    },
  );
  process.on('exit', () => vite.kill());
  return `http://127.0.0.1:${port}`;
}
