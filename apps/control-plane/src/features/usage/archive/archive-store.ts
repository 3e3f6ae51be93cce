import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { sha256Of, syncFile, writeDurably } from '../../../platform/files/durable-files.ts';

/** Stores an archive. A file gets its name only when it is complete. */
export interface ArchiveStore {
  /** Returns the file's name for messages. */
  nameOf(file: string): string;
  /** Returns null when there is no such file. */
  readText(file: string): Promise<string | null>;
  writeText(file: string, text: string): Promise<void>;
  /** Returns the SHA-256 of the stored file; null when there is none. */
  sha256Of(file: string): Promise<string | null>;
  /** Compresses the text with gzip and stores it. */
  write(file: string, text: AsyncIterable<string>): Promise<{ bytes: number; sha256: string }>;
}

export class FolderStore implements ArchiveStore {
  constructor(private readonly folder: string) {}

  nameOf(file: string): string {
    return path.join(this.folder, file);
  }

  readText(file: string): Promise<string | null> {
    return readFile(this.nameOf(file), 'utf8').catch(nullIfAbsent);
  }

  async writeText(file: string, text: string): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    await writeDurably(this.nameOf(file), text);
  }

  sha256Of(file: string): Promise<string | null> {
    return sha256Of(this.nameOf(file)).catch(nullIfAbsent);
  }

  async write(file: string, text: AsyncIterable<string>) {
    const target = this.nameOf(file);
    await mkdir(this.folder, { recursive: true });
    await writeGzipped(`${target}.part`, text);
    await syncFile(`${target}.part`);
    await rename(`${target}.part`, target);
    return { bytes: (await stat(target)).size, sha256: await sha256Of(target) };
  }
}

export async function writeGzipped(file: string, text: AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(text), createGzip(), createWriteStream(file, { mode: 0o600 }));
}

function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
