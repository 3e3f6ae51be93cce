import type { PortBook } from './port-book.ts';

const FRONT_DOOR_PORTS = [8080, 8081, 8088];

/** Names the apps in the port book. */
export const APP_PORTS = ['front-door', 'control-plane', 'demo-upstream', 'node-1', 'node-2'];

export interface Ports {
  frontDoor: number;
  controlPlane: number;
  upstream: number;
  nodes: number[];
}

export async function claimPorts(ports: PortBook): Promise<Ports> {
  const frontDoor = process.env.PORT
    ? await ports.claimExactly('front-door', Number(process.env.PORT))
    : await ports.claim('front-door', FRONT_DOOR_PORTS);
  const controlPlane = await ports.claim('control-plane');
  const upstream = await ports.claim('demo-upstream');
  const nodes = [await ports.claim('node-1'), await ports.claim('node-2')];
  return { frontDoor, controlPlane, upstream, nodes };
}

export function local(port: number): string {
  return `http://127.0.0.1:${port}`;
}
