#!/usr/bin/env node
// `npx fleet …`: runs the command line, after any necessary installation and build.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

// A robot that needs only the command line does not install the packages of the service.
await runBuilt('dist/program/fleet.js', { needs: 'commander' })
