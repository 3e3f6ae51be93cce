import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller.ts';
import { OpenApiController } from './openapi.controller.ts';
import { OpenApiDocument } from './openapi-document.ts';

@Module({ controllers: [OpenApiController, DocsController], providers: [OpenApiDocument] })
export class OpenApiModule {}
