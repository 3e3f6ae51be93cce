import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '../checkout.ts';
import { debianFolder, downloadDebianPackages } from '../embedded/debian-packages.mjs';
import { KUBERNETES_VERSION, ToolMissing } from './deploy-tools.ts';

const ETCD = { name: 'etcd-server', wanted: ['etcd-server'], known: ['etcd-server'] } as const;

/**
 * Returns a program of Kubernetes, compiled from its Go module: it takes minutes the first time, and comes from the cache later. Its libraries are published as modules with the
 * same minor and patch number (`v0.31.0` for 1.31.0), which take the place of the folders that its own go.mod names. `kubernetes` is the module's folder.
 */
export function kubernetesProgram(
  name: 'kube-apiserver' | 'kube-controller-manager',
  kubernetes: string,
): string {
  const folder = path.join(cacheFolder(), 'deploy-tools', `${name}-${KUBERNETES_VERSION}`);
  const program = path.join(folder, name);
  if (existsSync(program)) return program;
  const source = `k8s.io/kubernetes/cmd/${name}`;
  console.log(`Compiling ${name} ${KUBERNETES_VERSION}, which takes some minutes ...`);
  mkdirSync(path.dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}.`);
  try {
    writeFileSync(path.join(work, 'go.mod'), moduleFile(kubernetes));
    writeFileSync(path.join(work, 'go.sum'), readFileSync(path.join(kubernetes, 'go.sum')));
    writeFileSync(
      path.join(work, 'tools.go'),
      `//go:build tools\n\npackage tools\n\nimport _ "${source}"\n`,
    );
    execFileSync('go', ['build', '-o', name, source], {
      cwd: work,
      env: { ...process.env, GOFLAGS: '-mod=mod' },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    });
    renameSync(work, folder);
  } catch (error) {
    if (!existsSync(program))
      throw new ToolMissing(
        `${name} could not be compiled: ${error instanceof Error ? error.message : String(error)}\n  Fix: Install Go 1.24 or newer and let it reach a module proxy.`,
      );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return program;
}

function moduleFile(kubernetes: string): string {
  const own = readFileSync(path.join(kubernetes, 'go.mod'), 'utf8');
  const libraries = [...own.matchAll(/^\s+(k8s\.io\/\S+) => \.\/staging\//gm)].map(
    ([, name]) => name,
  );
  const version = KUBERNETES_VERSION.replace(/^1/, 'v0');
  return [
    'module tollgate.invalid/kubernetes',
    'go 1.24.0',
    `require k8s.io/kubernetes v${KUBERNETES_VERSION}`,
    ...libraries.map((name) => `replace ${name} => ${name} ${version}`),
    '',
  ].join('\n');
}

/** Returns the distribution's etcd. Throws ToolMissing. */
export async function etcdProgram(): Promise<string> {
  const program = path.join(debianFolder(ETCD), 'usr/bin/etcd');
  if (existsSync(program)) return program;
  const problem = await downloadDebianPackages(ETCD);
  if (problem !== undefined || !existsSync(program))
    throw new ToolMissing(
      `etcd is missing and could not be downloaded: ${problem ?? 'the package has none'}\n  Fix: Run the command on Debian or Ubuntu.`,
    );
  return program;
}
