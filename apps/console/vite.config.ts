import path from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { precompress } from './precompress.ts';

const root = import.meta.dirname;
/** `npm run dev` finds the running installation here. */
const gateway = process.env.TOLLGATE_ADDRESS ?? 'http://127.0.0.1:8080';

export default defineConfig(({ command }) => ({
  root,
  // The base is relative, so that the same files work under any path: index.html names the base when it is served.
  base: command === 'build' ? './' : '/',
  plugins: [react(), tailwindcss(), precompress()],
  resolve: {
    alias: {
      '@tollgate/admin-client': path.join(root, '../../libs/admin-client/src/index.ts'),
    },
  },
  build: {
    outDir: path.join(root, 'dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    // `npm run check` reads from the manifest which file imports which.
    manifest: true,
    // The content policy allows no data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Small files compress badly, and each is a request: what half of the pages share is one file.
        codeSplitting: {
          groups: [
            {
              // Parts that people type into load with the pages that have them.
              name: 'parts',
              test: /console\/src\/(api|ui)\/(?!forms\/(confirm-dialog|dialog|field|form)\.tsx)/,
              minShareCount: 9,
            },
          ],
        },
      },
    },
  },
  server: {
    host: '127.0.0.1',
    // The proxy keeps the browser's own Host: the interface compares it with the Origin of what changes things.
    proxy: Object.fromEntries(
      ['/admin-api', '/v1'].map((path) => [path, { target: gateway, changeOrigin: false }]),
    ),
  },
}));
