import { AbstractAgent } from "@ag-ui/client";
import { takeWhile } from "rxjs";
import { webSocket } from "rxjs/webSocket";

export class WebSocketAgent extends AbstractAgent {
  constructor({ url, apiKey, ...config }) {
    super(config);
    this.door = { url, protocol: ["agui.v1", `bearer.${apiKey}`] };
  }

  run(input) {
    this.running = { socket: webSocket(this.door), runId: input.runId };
    this.running.socket.next(input);
    return this.running.socket.pipe(takeWhile(({ type }) => type !== "RUN_FINISHED" && type !== "RUN_ERROR", true));
  }

  abortRun() {
    this.running?.socket.next({ type: "cancel", runId: this.running.runId });
  }
}
