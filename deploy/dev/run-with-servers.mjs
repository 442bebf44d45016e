// `node deploy/dev/run-with-servers.mjs dist/bench/run.js`: runs a built program that needs real servers, and tells it
// their paths.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'
import { findServers, serverEnvironment } from './servers.mjs'

const [file] = process.argv.splice(2, 1)
Object.assign(process.env, serverEnvironment(await findServers()))
await runBuilt(file)
