#!/usr/bin/env node
// `npx fleet …`: runs the command line after the set-up that is still missing.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

await runBuilt('dist/api/cli/main.js')
