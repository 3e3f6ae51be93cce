import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Response } from 'express';
import { tap, type Observable } from 'rxjs';
import { isReplayed } from './idempotency.ts';

const REPLAYED_HEADER = 'Idempotent-Replayed';

/** Distinguishes a repeat from the first call: without it a caller cannot know whether its retry had an effect. */
@Injectable()
export class ReplayHeader implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(
      tap((answer) => {
        if (isReplayed(answer)) response.setHeader(REPLAYED_HEADER, 'true');
      }),
    );
  }
}
