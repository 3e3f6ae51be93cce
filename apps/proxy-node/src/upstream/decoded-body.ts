import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';

/**
 * Undoes an upstream's content-encoding. We ask for identity, but some upstreams compress anyway. The client is promised plain bytes.
 * Flushes on every chunk, so that a compressed event stream does not wait for its end. Undefined for identity; throws for an unknown encoding.
 */
export function createDecoder(encoding: string | undefined): Transform | undefined {
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ flush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      return createInflate({ flush: constants.Z_SYNC_FLUSH });
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({ flush: constants.ZSTD_e_flush });
    default:
      throw new Error(`unknown content-encoding ${JSON.stringify(encoding)}`);
  }
}
