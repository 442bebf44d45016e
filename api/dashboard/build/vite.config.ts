// Builds the browser's part of the dashboard into `dist/dashboard`: `npm run build` calls it after the compiler, whose
// output `strip-operations` reads.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { compressed } from './compressed.ts'
import { earlyTheme } from './early-theme.ts'
import { sprite } from './sprite.ts'
import { strippedOperations } from './strip-operations.ts'

const ROOT = new URL('../../../', import.meta.url)
const path = (relative: string) => fileURLToPath(new URL(relative, ROOT))

// A config file is read by the tool as its default export.
export default defineConfig({
  root: path('api/dashboard/app'),
  base: '/',
  publicDir: false,
  cacheDir: path('dist/.vite'),
  plugins: [strippedOperations(path('')), sprite(path('')), earlyTheme(), compressed()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: path('dist/dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    // Inlined files would be `data:` addresses, which the policy of the page does not allow for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    sourcemap: false,
    reportCompressedSize: false,
    rolldownOptions: {
      input: path('api/dashboard/app/index.html'),
      // Its advice on how long plugins take would stand between a person and `npm start`.
      checks: { pluginTimings: false },
      output: {
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: 'assets/[name]-[hash].js',
        assetFileNames: 'assets/[name]-[hash][extname]',
        // Views that draw no chart do not load what draws them.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'chart', test: /node_modules.uplot.|app.charts.(chart|plot)/, priority: 2 },
            // What many views need comes with the shell: one request in place of a dozen small ones.
            {
              name: 'shell',
              // A dialog that three views open is loaded when it is opened, and the map where it is shown.
              test: /^(?!.*(action-dialog\.tsx$|views.overview.))/,
              minShareCount: 3,
              priority: 1,
            },
          ],
        },
      },
    },
  },
  worker: {
    format: 'es',
    plugins: () => [strippedOperations(path(''))],
    rolldownOptions: { output: { entryFileNames: 'assets/[name]-[hash].js' } },
  },
  // Found one by one, they would each load the page anew.
  optimizeDeps: {
    include: [
      'preact',
      'preact/hooks',
      'preact/jsx-runtime',
      'preact/jsx-dev-runtime',
      '@preact/signals',
      'uplot',
    ],
  },
  // While developing, `npx vite` serves the app and a running service answers the rest.
  server: {
    proxy: {
      '/api': { target: 'http://localhost:8000' },
      '/ws': { target: 'ws://localhost:8000', ws: true },
    },
  },
})
