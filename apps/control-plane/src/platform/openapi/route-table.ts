import { Injectable, RequestMethod, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { z } from 'zod';
import { ANSWERS, type AnswersNote } from './answers.ts';
import {
  FRESH_PASSWORD,
  PERMISSION,
  SESSION_ONLY,
  type FreshPasswordRule,
  type PermissionLevel,
} from '../access/permission.ts';

export interface RouteEntry {
  method: string;
  /** Is the declared path below the prefix, for example `/users/:id/freeze`. */
  path: string;
  permission: PermissionLevel;
  /** Is true when access tokens cannot reach the route. */
  isSessionOnly: boolean;
  /** Names the bodies for which the route needs a recently entered password. */
  freshPassword: FreshPasswordRule | undefined;
  controller: string;
  handler: string;
  /** Is absent on routes that the API document leaves out. */
  answers: AnswersNote | undefined;
}

const paths = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (typeof value === 'string' ? [value] : value));

/** Lists the routes with their permissions, for the access matrix test and the API document. */
@Injectable()
export class RouteTable implements OnApplicationBootstrap {
  private found: RouteEntry[] | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onApplicationBootstrap(): void {
    this.routes();
  }

  /** Returns the routes; throws when one declares no permission. */
  routes(): RouteEntry[] {
    return (this.found ??= this.find());
  }

  private find(): RouteEntry[] {
    return this.discovery.getControllers().flatMap(({ instance, metatype }) => {
      if (!metatype || typeof metatype !== 'function') return [];
      const prefixes = paths.parse(Reflect.getMetadata('path', metatype) ?? '');
      const prototype: unknown = Object.getPrototypeOf(instance);
      return this.scanner
        .getAllMethodNames(Object(prototype))
        .flatMap((name) => this.entriesOf(metatype, Object(instance)[name], name, prefixes));
    });
  }

  /**
   * Returns the methods of the routes at a path, in the form below the prefix; an unknown path has none. A path that is declared literally belongs to
   * no route with a parameter in its place. HEAD is answered wherever GET is.
   */
  methodsAt(path: string): string[] {
    const asked = path.replace(/(?<=.)\/$/, '').split('/');
    const isHere = (route: RouteEntry): boolean => {
      const declared = route.path.split('/');
      return (
        declared.length === asked.length &&
        declared.every((part, index) => part.startsWith(':') || part === asked[index])
      );
    };
    const here = this.routes().filter(isHere);
    const parameters = (route: RouteEntry): number => route.path.split('/:').length;
    const fewest = Math.min(...here.map(parameters));
    const methods = new Set(
      here.filter((route) => parameters(route) === fewest).map((route) => route.method),
    );
    return [
      ...(methods.has('GET') ? ['GET', 'HEAD'] : []),
      ...[...methods].filter((method) => method !== 'GET').toSorted(),
    ];
  }

  private entriesOf(
    controller: Function,
    handler: Function,
    name: string,
    prefixes: string[],
  ): RouteEntry[] {
    const verb: unknown = Reflect.getMetadata('method', handler);
    if (typeof verb !== 'number') return [];
    const permission = this.reflector.getAllAndOverride<PermissionLevel | undefined>(PERMISSION, [
      handler,
      controller,
    ]);
    if (!permission) throw new Error(`${controller.name}.${name} declares no @Permission`);
    const isSessionOnly = this.reflector.getAllAndOverride<boolean | undefined>(SESSION_ONLY, [
      handler,
      controller,
    ]);
    const freshPassword = this.reflector.get<FreshPasswordRule | undefined>(
      FRESH_PASSWORD,
      handler,
    );
    const answers = this.reflector.get<AnswersNote | undefined>(ANSWERS, handler);
    const own = paths.parse(Reflect.getMetadata('path', handler) ?? '');
    return prefixes.flatMap((prefix) =>
      own.map((path) => ({
        method: RequestMethod[verb] ?? 'ALL',
        path: joinPath(prefix, path),
        permission,
        isSessionOnly: isSessionOnly ?? false,
        freshPassword,
        controller: controller.name,
        handler: name,
        answers,
      })),
    );
  }
}

function joinPath(prefix: string, path: string): string {
  return `/${[prefix, path]
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '')
    .join('/')}`;
}
