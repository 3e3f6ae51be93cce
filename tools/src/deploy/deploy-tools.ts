import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { cacheFolder } from '../checkout.ts';
import { debianFolder, downloadDebianPackages } from '../embedded/debian-packages.mjs';

/** Is pinned: another version may judge otherwise. */
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.18.6';
const COMPOSE = 'github.com/compose-spec/compose-go/v2/cmd@v2.9.1';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0';
const KUBERNETES = 'k8s.io/kubernetes@v1.31.0';
const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.2.1';
const PROMETHEUS_OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.79.2';
const PROMETHEUS = { name: 'prometheus', wanted: ['prometheus'], known: ['prometheus'] } as const;
export const KUBERNETES_VERSION = '1.31.0';

/** Describes a tool that is missing and could not be installed, with what to do. */
export class ToolMissing extends Error {}

export interface DeployTools {
  readonly helm: string;
  readonly kubeconform: string;
  readonly promtool: string;
  /** Reads a compose file as Docker Compose does. */
  readonly composeLoader: string;
  /** Is the folder of the Kubernetes Go module, which has the OpenAPI documents of its API. */
  readonly kubernetes: string;
  /** Lists files that define the kinds which the chart uses and Kubernetes does not have. */
  readonly definitions: readonly string[];
}

/** Returns the tools that are in the cache or in PATH, and installs the rest through the Go module proxy and the distribution's packages. It throws ToolMissing. */
export async function deployTools(): Promise<DeployTools> {
  return {
    helm: goProgram('helm', HELM),
    kubeconform: goProgram('kubeconform', KUBECONFORM),
    promtool: await prometheusProgram('promtool'),
    composeLoader: goProgram('cmd', COMPOSE),
    kubernetes: goModule(KUBERNETES),
    definitions: definitionFiles(),
  };
}

function goProgram(name: string, versioned: string): string {
  const version = versioned.split('@')[1] ?? '';
  const folder = path.join(cacheFolder(), 'deploy-tools', version);
  const program = path.join(folder, name);
  if (existsSync(program)) return program;
  const installed = goBinFolders()
    .map((each) => path.join(each, name))
    .find((each) => isOf(each, versioned));
  if (installed !== undefined) return installed;
  console.log(`Installing ${versioned} ...`);
  mkdirSync(folder, { recursive: true });
  go(['install', versioned], { GOBIN: folder });
  return program;
}

/** Returns the folders in which `go install` puts programs. */
function goBinFolders(): string[] {
  const folder = go(['env', 'GOPATH']).trim();
  return folder === '' ? [] : [path.join(folder, 'bin')];
}

/** See https://pkg.go.dev/cmd/go#hdr-Print_Go_version */
function isOf(program: string, versioned: string): boolean {
  if (!existsSync(program)) return false;
  const version = versioned.split('@')[1] ?? '';
  const { stdout } = spawnSync('go', ['version', '-m', program], { encoding: 'utf8' });
  return stdout.includes(`\t${version}\t`);
}

const downloaded = z.object({ Dir: z.string() });

function goModule(versioned: string): string {
  return downloaded.parse(JSON.parse(go(['mod', 'download', '-json', versioned]))).Dir;
}

function go(args: readonly string[], environment: Record<string, string> = {}): string {
  const cwd = cacheFolder();
  mkdirSync(cwd, { recursive: true });
  try {
    return execFileSync('go', args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, GOFLAGS: '-mod=mod', ...environment },
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (error) {
    throw new ToolMissing(
      `go ${args.join(' ')} failed: ${error instanceof Error ? error.message : String(error)}\n  Fix: Install Go 1.24 or newer and let it reach a module proxy.`,
    );
  }
}

/** Finds a program of Prometheus: of PATH, or of the distribution's package. */
export async function prometheusProgram(name: 'prometheus' | 'promtool'): Promise<string> {
  const inPath = (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((folder) => path.join(folder, name))
    .find(existsSync);
  if (inPath !== undefined) return inPath;
  const program = path.join(debianFolder(PROMETHEUS), 'usr/bin', name);
  if (existsSync(program)) return program;
  console.log(`Downloading ${name} ...`);
  const problem = await downloadDebianPackages(PROMETHEUS);
  if (problem !== undefined || !existsSync(program))
    throw new ToolMissing(
      `${name} is missing and could not be downloaded: ${problem ?? 'the package has none'}\n  Fix: Install Prometheus, so that ${name} is in PATH.`,
    );
  return program;
}

function definitionFiles(): string[] {
  const gateway = path.join(goModule(GATEWAY_API), 'config/crd/standard');
  const operator = path.join(goModule(PROMETHEUS_OPERATOR), 'example/prometheus-operator-crd');
  return [
    path.join(gateway, 'gateway.networking.k8s.io_httproutes.yaml'),
    path.join(operator, 'monitoring.coreos.com_servicemonitors.yaml'),
    path.join(operator, 'monitoring.coreos.com_prometheusrules.yaml'),
  ];
}

/** Lists the names of the OpenAPI documents in the Kubernetes module. */
export function openApiDocuments(kubernetes: string): string[] {
  const folder = path.join(kubernetes, 'api/openapi-spec/v3');
  return readdirSync(folder)
    .filter((name) => /^apis?__.*_openapi\.json$/.test(name))
    .map((name) => path.join(folder, name));
}
