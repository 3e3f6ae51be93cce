import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface RawRequest {
  path: string;
  body: string;
}

export interface RawUpstream {
  origin: string;
  port: number;
  close: () => Promise<void>;
}

/** Starts an upstream that writes its own HTTP, and so can write it wrong. It serves one request a connection. */
export async function startRawUpstream(
  answer: (socket: Socket, request: RawRequest) => void,
): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // An upstream that is cut off in the middle sends nothing more.
    socket.on('error', () => socket.destroy());
    readRequest(socket, (request) => answer(socket, request));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readRequest(socket: Socket, whole: (request: RawRequest) => void): void {
  let text = '';
  let isRead = false;
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    const [top = '', ...rest] = text.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(top)?.[1] ?? Number.NaN);
    const body = rest.join('\r\n\r\n');
    if (isRead || !(body.length >= length)) return;
    isRead = true;
    whole({ path: top.split(' ')[1] ?? '', body });
  });
}
