import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface Certificate {
  cert: string;
  key: string;
}

/** Is a certificate authority of a test, made by openssl as docs/operations.md shows it. */
export class Authority {
  readonly folder: string;
  readonly cert: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
    this.cert = path.join(folder, 'ca.crt');
    openssl(
      ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=tollgate-test-ca'.split(
        ' ',
      ),
      '-keyout',
      path.join(folder, 'ca.key'),
      '-out',
      this.cert,
    );
  }

  /** Issues a certificate for a server of this host name, or a client of this user name. */
  issue(name: string): Certificate {
    const [cert, key, request, extensions] = ['crt', 'key', 'csr', 'ext'].map((part) =>
      path.join(this.folder, `${name}.${part}`),
    ) as [string, string, string, string];
    openssl(
      ...'req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'.split(' '),
      '-subj',
      `/CN=${name}`,
      '-keyout',
      key,
      '-out',
      request,
    );
    writeFileSync(extensions, `subjectAltName = DNS:${name}\n`);
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      this.cert,
      '-CAkey',
      path.join(this.folder, 'ca.key'),
      '-CAcreateserial',
      '-days',
      '1',
      '-extfile',
      extensions,
      '-out',
      cert,
    );
    return { cert, key };
  }
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
