// `node deploy/dev/run.mjs dist/bench/run.js --quick`: any built program, with whatever set-up it still needs.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

const [file] = process.argv.splice(2, 1)
await runBuilt(file)
