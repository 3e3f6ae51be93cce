import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { install, type Peer } from './peer.ts';

/** Uses Debian's package, unpacked and not installed. */
export const nginx: Peer = {
  name: 'nginx',
  version: 'of Debian',
  does: 'proxy_pass; no key, no metering',
  install: (folder) => {
    if (existsSync(path.join(folder, 'usr/sbin/nginx'))) return;
    install('apt-get', ['download', 'nginx'], folder);
    for (const archive of globSync('nginx_*.deb', { cwd: folder }))
      install('dpkg-deb', ['-x', archive, '.'], folder);
  },
  command: ({ folder, port, upstreamUrl }) => {
    mkdirSync(path.join(folder, 'tmp'), { recursive: true });
    writeFileSync(path.join(folder, 'nginx.conf'), configuration(port, new URL(upstreamUrl).host));
    const args = ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'];
    return { file: path.join(folder, 'usr/sbin/nginx'), args };
  },
};

function configuration(port: number, upstream: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
worker_processes 1;
pid tmp/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  ${temporary.map((kind) => `${kind}_temp_path tmp/${kind};`).join('\n  ')}
  upstream models { server ${upstream}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://models;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}
