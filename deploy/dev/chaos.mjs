// `npm run chaos`: a long run against real servers, wherever they are.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'
import { findServers, serverEnvironment } from './servers.mjs'

Object.assign(process.env, serverEnvironment(await findServers()))
await runBuilt('dist/bench/chaos/run.js')
