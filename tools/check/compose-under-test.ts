import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

export const root = path.join(import.meta.dirname, '../..');
export const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const service = z.looseObject({
  image: z.string(),
  build: z.object({ context: z.string(), dockerfile: z.string(), target: z.string() }).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()),
  ports: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()).default([]) }),
  depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).default([]),
});
export const compose = z
  .looseObject({
    services: z.record(z.string(), service),
    volumes: z.record(z.string(), z.unknown()),
    networks: z.record(
      z.string(),
      z.looseObject({ ipam: z.object({ config: z.array(z.object({ subnet: z.string() })) }) }),
    ),
  })
  .parse(parse(read('docker-compose.yml'), { merge: true }));
export const services = Object.entries(compose.services).filter(([name]) => name !== 'migrate');
export const nodes = services.filter(([name]) => name.startsWith('node-'));

export function named(name: string): z.infer<typeof service> {
  return service.parse(compose.services[name]);
}
