#!/usr/bin/env node
// `npx fleet …`: runs the command line after the set-up that is still missing.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

// A robot that only has the command line does not install the service.
await runBuilt('dist/api/cli/main.js', { needs: 'commander' })
