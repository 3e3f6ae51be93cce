import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { startServices, type Services, type ServicesOptions } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { loadConfig } from '../config.ts';
import { ADMIN_PREFIX, createApp } from '../create-app.ts';
import { ShardOpening } from '../features/epochs/shard-opening.ts';
import { Passwords } from '../platform/access/passwords.ts';
import { limitConnections } from '../platform/server/connection-limits.ts';
import { createPino } from '../platform/logging/logger.ts';
import { compileDocument } from '../platform/openapi/openapi-document.ts';
import { RouteTable } from '../platform/openapi/route-table.ts';
import type { ApiBody } from './api-body.ts';
import { DocumentCheck } from './document-check.ts';
import { refuseSecondConnections } from './one-connection.ts';
import { connectedTo, migratedPostgres } from './postgres-under-test.ts';

export interface Answer<Body = unknown> {
  status: number;
  headers: Headers;
  /** Is parsed JSON; the text when it is none. */
  body: Body;
}

export interface CallOptions {
  token?: string | undefined;
  body?: unknown;
  /** Is sent as it is, for bodies that are not valid JSON. */
  rawBody?: string;
  headers?: Record<string, string>;
}

/** Is a control plane of this process on a free port, over a PostgreSQL and a Redis of its own. */
export interface ControlPlane {
  url: string;
  app: NestExpressApplication;
  /** Is the control plane's own, with the rights of its role. */
  dataSource: DataSource;
  /** Is a connection of PostgreSQL's administrator, for tests that tamper with rows. */
  administrator: DataSource;
  documented: DocumentCheck;
  services: Services;
  environment: Record<string, string>;
  adminToken: string;
  /** `path` is below /admin-api. Throws when the answer is not as the API document says. */
  call: <Method extends string, Path extends string>(
    method: Method,
    path: Path,
    options?: CallOptions,
  ) => Promise<Answer<ApiBody<Method, Path>>>;
  login: (username: string, password: string) => Promise<string>;
  /** Registers and approves; every password is `PASSWORD`. */
  createUser: (username: string) => Promise<{ id: number; token: string }>;
  stop: () => Promise<void>;
}

export const PASSWORD = 'correct horse battery';
export const ADMIN = 'root';
/** Is the credential of every control plane of a spec, so that the events of `ledger-under-test.ts` are signed with it. */
export const FLEET_CREDENTIAL = randomBytes(32).toString('base64url');

export interface PlaneOptions extends ServicesOptions {
  /** True = passwords are hashed at the product's cost. Usually the same algorithm runs at a thousandth of it: a spec makes many accounts. */
  isHashingFull?: boolean;
  /** True = answers are held against the document that this process compiles, not the committed one: for a suite that changes the code. */
  isDocumentCompiled?: boolean;
}

export async function startControlPlane(
  overrides: Record<string, string> = {},
  { isHashingFull = false, isDocumentCompiled = false, ...options }: PlaneOptions = {},
): Promise<ControlPlane> {
  const services = await startServices({ postgres: await migratedPostgres(), ...options });
  try {
    return await startOn(services, overrides, { isHashingFull, isDocumentCompiled });
  } catch (error) {
    await services.stop();
    throw error;
  }
}

export function environmentFor(
  services: Pick<Services, 'databaseUrl' | 'redisUrl'>,
  overrides: Record<string, string> = {},
): Record<string, string> {
  return {
    DATABASE_URL: services.databaseUrl,
    REDIS_URL: services.redisUrl,
    JWT_SECRET: randomBytes(32).toString('base64url'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64url'),
    FLEET_CREDENTIAL,
    PORT: '0',
    SHARDS: '4',
    PAYMENTS: 'sandbox',
    REGISTRATIONS_PER_ADDRESS_PER_DAY: '100000',
    UPSTREAM_ALLOW_PRIVATE: '127.0.0.0/8,::1/128',
    BOOTSTRAP_ADMIN_USERNAME: ADMIN,
    BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
    LOG_LEVEL: 'silent',
    ...overrides,
  };
}

async function startOn(
  services: Services,
  overrides: Record<string, string>,
  { isHashingFull, isDocumentCompiled }: { isHashingFull: boolean; isDocumentCompiled: boolean },
): Promise<ControlPlane> {
  const { databaseUrls, redisUrl } = services;
  const environment = {
    ...environmentFor({ databaseUrl: databaseUrls.runtime, redisUrl }, overrides),
    // tollgate-ops reads the addresses of the owner and the reader; a control plane reads neither.
    DATABASE_OWNER_URL: databaseUrls.owner,
    DATABASE_READER_URL: databaseUrls.reader,
  };
  const config = loadConfig(environment);
  const app = await createApp(config, createPino(config.LOG_LEVEL));
  refuseSecondConnections(app.get(DataSource), app.getHttpServer());
  if (!isHashingFull) hashCheaply(app.get(Passwords, { strict: false }));
  // No node has holds to take again.
  app.get(ShardOpening, { strict: false }).restoreMs = 30;
  limitConnections(await app.listen(0, '127.0.0.1'));
  const address = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${address.port}`;
  const documented = new DocumentCheck(
    isDocumentCompiled
      ? compileDocument(app, { prefix: ADMIN_PREFIX, routes: app.get(RouteTable) })
      : undefined,
  );
  const call: ControlPlane['call'] = async <Method extends string, Path extends string>(
    method: Method,
    path: Path,
    options: CallOptions = {},
  ) => {
    const answer = await send<ApiBody<Method, Path>>(`${url}/admin-api${path}`, method, options);
    documented.check({
      method,
      path: `/admin-api${path}`.replace(/\?.*/s, ''),
      status: answer.status,
      contentType: answer.headers.get('content-type') ?? '',
      body: answer.body,
    });
    return answer;
  };
  const login = async (username: string, password: string): Promise<string> => {
    const answer = await call('POST', '/auth/login', { body: { username, password } });
    if (answer.status !== 200)
      throw new Error(`login of ${username} answered ${answer.status} ${answer.body.code}`);
    return answer.body.token;
  };
  const administrator = await connectedTo(services.databaseUrl);
  const adminToken = await login(ADMIN, PASSWORD);
  const createUser = async (username: string) => {
    const { id } = (
      await call('POST', '/auth/register', { body: { username, password: PASSWORD } })
    ).body;
    const approved = await call('POST', `/users/${id}/approve`, { token: adminToken });
    if (approved.status >= 300)
      throw new Error(`approval of ${username} answered ${approved.status} ${approved.body.code}`);
    return { id, token: await login(username, PASSWORD) };
  };
  const stop = async (): Promise<void> => {
    await app.close();
    await administrator.destroy();
    await services.stop();
  };
  return {
    url,
    app,
    documented,
    dataSource: app.get(DataSource),
    administrator,
    services,
    environment,
    adminToken,
    call,
    login,
    createUser,
    stop,
  };
}

function hashCheaply(passwords: Passwords): void {
  const cheap = new Passwords({ memoryKib: 16, passes: 1, lanes: 1 });
  passwords.hash = (password) => cheap.hash(password);
}

export async function send<Body = unknown>(
  url: string,
  method: string,
  { token, body, rawBody, headers }: CallOptions,
): Promise<Answer<Body>> {
  const content = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(content === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content === undefined ? {} : { body: content }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parseJson(text) as Body };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
