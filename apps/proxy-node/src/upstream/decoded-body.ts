import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';

/**
 * Returns a decoder for an upstream's content-encoding. The request asks for identity, but some upstreams compress anyway, and the client is promised
 * plain bytes. It flushes every chunk, so that a compressed event stream does not wait for its end. Returns undefined for identity; throws for an
 * unknown encoding.
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
