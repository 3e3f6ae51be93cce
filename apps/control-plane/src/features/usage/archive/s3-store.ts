import { openAsBlob } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AwsClient } from 'aws4fetch';
import { sha256Of } from '../../../platform/files/durable-files.ts';
import { writeGzipped, type ArchiveStore } from './archive-store.ts';

const SHA256 = 'x-amz-meta-sha256';

export interface S3Settings {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  region: string;
  /** Is the address of a server other than AWS, such as `https://minio.example`; buckets are folders of it. */
  endpoint?: string | undefined;
}

class S3Refused extends Error {}

/** Stores an archive in a folder of a bucket, `s3://bucket/folder`. The server verifies each upload by its SHA-256, which stays with the file. */
export class S3Store implements ArchiveStore {
  private readonly client: AwsClient;
  private readonly base: string;

  constructor(
    private readonly place: string,
    { endpoint, sessionToken, ...settings }: S3Settings,
  ) {
    this.client = new AwsClient({
      ...settings,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
    });
    const { hostname: bucket, pathname } = new URL(place);
    const folder = pathname.replace(/\/+$/, '');
    this.base = endpoint
      ? `${endpoint.replace(/\/+$/, '')}/${bucket}${folder}`
      : `https://${bucket}.s3.${settings.region}.amazonaws.com${folder}`;
  }

  nameOf(file: string): string {
    return `${this.place.replace(/\/+$/, '')}/${file}`;
  }

  async readText(file: string): Promise<string | null> {
    const answer = await this.ask('GET', file);
    return answer && (await answer.text());
  }

  async writeText(file: string, text: string): Promise<void> {
    await this.ask('PUT', file, { body: text });
  }

  async sha256Of(file: string): Promise<string | null> {
    const answer = await this.ask('HEAD', file);
    return answer?.headers.get(SHA256) ?? null;
  }

  async write(file: string, text: AsyncIterable<string>) {
    const folder = await mkdtemp(path.join(tmpdir(), 'tollgate-export-'));
    try {
      const local = path.join(folder, file);
      await writeGzipped(local, text);
      const [body, sha256] = [await openAsBlob(local), await sha256Of(local)];
      const headers = { 'x-amz-content-sha256': sha256, [SHA256]: sha256 };
      await this.ask('PUT', file, { body, headers });
      return { bytes: body.size, sha256 };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Returns null when there is no such file. */
  private async ask(
    method: 'GET' | 'HEAD' | 'PUT',
    file: string,
    more: { body?: Blob | string; headers?: Record<string, string> } = {},
  ): Promise<Response | null> {
    const answer = await this.client.fetch(`${this.base}/${file}`, { method, ...more });
    if (answer.ok) return answer;
    const said = await answer.text();
    if (answer.status === 404 && method !== 'PUT' && !said.includes('NoSuchBucket')) return null;
    const code = /<Code>(\w+)<\/Code>/.exec(said)?.[1] ?? '';
    throw new S3Refused(`${this.nameOf(file)}: the store answered ${answer.status} ${code}`.trim());
  }
}
