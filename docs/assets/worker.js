// Search runs in a worker, and browsers give none to pages that are opened from disk. There, a hidden frame is the worker.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.addEventListener("load", resolve);
        script.addEventListener("error", () => reject(new Error(`${url} could not be loaded`)));
        script.src = new URL(url, location.href);
        inside.document.body.append(script);
      });
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
