import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { FIELD_FAULTS, fieldError } from '../http/field-faults.ts';
import { Refusal } from '../http/refusal.ts';
import { PERMISSION, type PermissionLevel } from './permission.ts';

/**
 * Refuses query parameters on a route that declares no `@Query`, so that a misspelt parameter is an error there as on routes with a schema. Public
 * routes are exempt: probes and browsers add parameters of their own.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const level = this.reflector.getAllAndOverride<PermissionLevel | undefined>(PERMISSION, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (level === 'public' || takesQuery(context)) return true;
    const unknown = Object.keys(context.switchToHttp().getRequest<Request>().query);
    if (unknown.length === 0) return true;
    throw new Refusal('invalid_request', {
      detail: `${unknown[0]}: ${FIELD_FAULTS.unknown_parameter}`,
      errors: unknown.map((field) => fieldError(field, 'unknown_parameter')),
    });
  }
}

/** Nest stores the parameters of a handler under `<kind>:<index>`. */
function takesQuery(context: ExecutionContext): boolean {
  const parameters: unknown = Reflect.getMetadata(
    ROUTE_ARGS_METADATA,
    context.getClass(),
    context.getHandler().name,
  );
  return Object.keys(Object(parameters)).some((key) => key.startsWith(`${RouteParamtypes.QUERY}:`));
}
