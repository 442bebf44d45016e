// `node deploy/dev/run.mjs dist/bench/run.js --quick`: runs any built program after the set-up that is still missing.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

const [file] = process.argv.splice(2, 1)
await runBuilt(file)
