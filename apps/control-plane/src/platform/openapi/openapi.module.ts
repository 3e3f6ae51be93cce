import { Module } from '@nestjs/common';
import { OpenApiController } from './openapi.controller.ts';
import { OpenApiDocument } from './openapi-document.ts';

@Module({ controllers: [OpenApiController], providers: [OpenApiDocument] })
export class OpenApiModule {}
