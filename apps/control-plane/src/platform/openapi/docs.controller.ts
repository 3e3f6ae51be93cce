import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Permission } from '../access/permission.ts';
import { Refusal } from '../http/refusal.ts';

/** The page loads everything from this server and nothing inline, so that shown data cannot run as a script. The library draws its icons from data: URLs. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tollgate administration API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`;

/** The page uses no validator, because the default one is a foreign service. */
const SCRIPT = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', validatorUrl: null, deepLinking: true, docExpansion: 'none', filter: true, showExtensions: true, defaultModelsExpandDepth: 0, persistAuthorization: false });
`;

const assets = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const asset = (name: string): Buffer => readFileSync(path.join(assets, name));
/** Maps file names to files, so that no path of a caller reaches the disk. Each file is read at its first request. */
const FILES: Readonly<Record<string, { type: string; read: () => Buffer | string }>> = {
  'page.js': { type: 'text/javascript', read: () => SCRIPT },
  'swagger-ui-bundle.js': { type: 'text/javascript', read: () => asset('swagger-ui-bundle.js') },
  'swagger-ui.css': { type: 'text/css', read: () => asset('swagger-ui.css') },
  'favicon-32x32.png': { type: 'image/png', read: () => asset('favicon-32x32.png') },
};

/** Serves the API document as a page, without any foreign host. */
@ApiExcludeController()
@Controller('docs')
export class DocsController {
  @Get()
  @Permission('public')
  page(@Res() response: Response): void {
    response.setHeader('content-security-policy', POLICY);
    response.type('html').send(PAGE);
  }

  @Get(':file')
  @Permission('public')
  file(@Param('file') name: string, @Res() response: Response): void {
    const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (!file) throw new Refusal('not_found');
    response.setHeader('cache-control', 'public, max-age=3600');
    response.type(file.type).send(file.read());
  }
}
