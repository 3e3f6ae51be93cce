import {
  Catch,
  HttpException,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { z } from 'zod';
import { isConnectionFailure } from '../database/database-errors.ts';
import { Refusal } from '../http/refusal.ts';
import type { RefusalCode } from '../http/refusals.ts';
import { visitorOf } from '../http/visitor.ts';

/** Matches errors of Express and its body parsers (http-errors): https://github.com/jshttp/http-errors */
const httpError = z.object({
  status: z.number().int().min(400).max(499),
  type: z.string().optional(),
});

/** Answers every failure as RFC 9457 problem+json. The text of an unexpected error goes only to the log. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const refusal = toRefusal(error);
    if (refusal.status >= 500)
      this.logger.error(error, `request ${visitorOf(request).requestId} failed`);
    else if (refusal.cause !== undefined)
      this.logger.warn(
        {
          request_id: visitorOf(request).requestId,
          code: refusal.code,
          cause: String(refusal.cause),
        },
        'refused',
      );
    // Part of an export was sent, so only a broken connection can signal the failure to the reader.
    if (response.headersSent) response.destroy();
    else sendProblem(request, response, refusal);
  }
}

/** Runs last and answers paths that no route and no prefix knows. */
export function answerUnknownPath(request: Request, response: Response): void {
  sendProblem(request, response, new Refusal('not_found', hintFor(request.path)));
}

/** A client of models requests these paths when its base URL lacks `/v1`. */
const WITHOUT_VERSION =
  /^\/(chat\/completions|completions|embeddings|messages(\/count_tokens)?|models|responses)\/?$/;

function hintFor(path: string): { detail: string } | undefined {
  if (!WITHOUT_VERSION.test(path)) return undefined;
  return { detail: `The interface of models is below /v1: ask for /v1${path}` };
}

/** Names the body parser's own errors before the framework turns them into its general 400. Express recognises error handlers by their four parameters. */
export function nameBodyError(
  error: unknown,
  _request: Request,
  _response: Response,
  next: NextFunction,
): void {
  const known = httpError.safeParse(error);
  next(known.data?.type === 'entity.parse.failed' ? new Refusal('malformed_json') : error);
}

function sendProblem(request: Request, response: Response, refusal: Refusal): void {
  if (refusal.context.retryAfterSeconds !== undefined)
    response.setHeader('retry-after', String(refusal.context.retryAfterSeconds));
  if (refusal.status === 401) response.setHeader('www-authenticate', 'Bearer');
  response
    .status(refusal.status)
    .type('application/problem+json')
    .send(JSON.stringify(toProblem(refusal, visitorOf(request).requestId)));
}

function toProblem(refusal: Refusal, requestId: string) {
  return {
    type: `urn:tollgate:problem:${refusal.code}`,
    title: refusal.title,
    status: refusal.status,
    detail: refusal.context.detail ?? refusal.title,
    code: refusal.code,
    errors: refusal.context.errors ?? [],
    request_id: requestId,
  };
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof HttpException) return new Refusal(codeOfStatus(error.getStatus()));
  if (isConnectionFailure(error))
    return new Refusal('service_unavailable', { retryAfterSeconds: 5 });
  const known = httpError.safeParse(error);
  if (known.success) return new Refusal(codeOfStatus(known.data.status));
  return new Refusal('internal_error');
}

/** Returns the code for the framework's own refusals, for example its 404 for an unknown path. */
function codeOfStatus(status: number): RefusalCode {
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 405:
      return 'method_not_allowed';
    case 413:
      return 'body_too_large';
    case 415:
      return 'unsupported_media_type';
    default:
      return status < 500 ? 'invalid_request' : 'internal_error';
  }
}
