import { defineConfig } from 'vite';

// The files are embedded in the program and committed, so they have to be the
// same wherever they are built: names come from contents, and no map or banner
// says where that was.
export default defineConfig({
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      onwarn(warning, warn) {
        const ours = warning.ids?.some((id) => !id.includes('node_modules'));
        if (warning.code === 'CIRCULAR_DEPENDENCY' && ours) throw new Error(warning.message);
        warn(warning);
      },
    },
  },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
});
