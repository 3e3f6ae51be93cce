import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { tap, type Observable } from 'rxjs';
import { entityTagOf } from '../http/entity-tag.ts';
import { RouteTable } from '../openapi/route-table.ts';
import { isReplayed } from '../idempotency/idempotency.ts';

const CREATED = 201;
const TAGGED_METHODS = new Set(['GET', 'HEAD', 'PUT']);
const REPLAYED_HEADER = 'Idempotent-Replayed';

/** Sets the headers that mark a repeated call, the version of a record, and the address of a created one (RFC 9110 15.3.2). */
@Injectable()
export class AnswerHeaders implements NestInterceptor {
  constructor(private readonly routes: RouteTable) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(
      tap((answer) => {
        if (isReplayed(answer)) response.setHeader(REPLAYED_HEADER, 'true');
        const tag = TAGGED_METHODS.has(request.method) ? entityTagOf(answer) : undefined;
        if (tag !== undefined) response.setHeader('ETag', tag);
        const location = this.locationOf(request, response, answer);
        if (location !== undefined) response.setHeader('Location', location);
      }),
    );
  }

  /** Returns the address of a created member, where members of the collection can be read. */
  private locationOf(request: Request, response: Response, answer: unknown): string | undefined {
    const id: unknown = Object(answer).id;
    if (response.statusCode !== CREATED || typeof id !== 'number') return undefined;
    const [, prefix = '', first = '', ...rest] = request.path.split('/');
    const isOfCollection = rest.length === 0 || rest[1] === 'rotate';
    if (!isOfCollection || !this.routes.methodsAt(`/${first}/${id}`).includes('GET'))
      return undefined;
    return `/${prefix}/${first}/${id}`;
  }
}
