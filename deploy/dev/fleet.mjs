#!/usr/bin/env node
// `npx fleet …`: the command line, with whatever set-up it still needs.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

await runBuilt('dist/api/cli/main.js')
