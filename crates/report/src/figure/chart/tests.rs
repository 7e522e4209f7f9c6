use super::*;
use insta::assert_snapshot;

fn plot(marks: Vec<Mark>) -> Chart {
    let (across, up) = (Axis::log("frequency", Unit::Plain), Axis::straight("queue", Unit::Bytes));
    let plots = vec![Plot { title: String::new(), across, up, marks }];
    Chart { title: "A chart".into(), stem: "chart".into(), caption: String::new(), plots }
}

fn line(points: Vec<(f64, f64)>) -> Mark {
    Mark::Line { name: "a line".into(), points, colour: 0, dashed: false }
}

#[test]
fn what_is_no_number_is_in_no_picture_and_no_table() {
    let points =
        vec![(1.0, 10.0), (10.0, f64::NAN), (0.0, 5.0), (-3.0, 5.0), (100.0, f64::INFINITY), (1e3, 20.0)];
    let chart = plot(vec![line(points), Mark::Level { name: "a level".into(), value: 15.0 }]);
    for text in [chart.to_svg(), chart.to_text()] {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    assert!(!chart.to_csv().contains("NaN"));
    assert!(!plot(vec![line(Vec::new())]).to_svg().contains("NaN"));
}

#[test]
fn a_field_is_told_by_its_cells() {
    let heat = Heat {
        above: "stable".into(),
        below: "not".into(),
        none: "no equilibrium".into(),
        across: vec![1.0, 10.0, 100.0],
        up: vec![5.0, 10.0],
        cells: vec![vec![Some(2.0), Some(0.5), None], vec![Some(3.0), Some(1.5), Some(0.1)]],
    };
    let chart = plot(vec![Mark::Heat(heat)]);
    assert_eq!(chart.to_svg().matches("<rect").count(), 1 + 6 + 3);
    assert_snapshot!(chart.to_text(), @"
    A chart
      10.0 B ┤░░█
      5.00 B ┤░█·
             └──────────────────────────────
              1.00                       100
              queue against frequency
      ░ stable   █ not   · no equilibrium
    ");
    assert_snapshot!(chart.to_csv(), @"
    plot,series,across,up,value
    A chart,cell,1,5,2
    A chart,cell,10,5,0.5
    A chart,cell,100,5,
    A chart,cell,1,10,3
    A chart,cell,10,10,1.5
    A chart,cell,100,10,0.1
    ");
}

#[test]
fn a_line_is_drawn_in_dots() {
    let chart =
        plot(vec![line((0..40).map(|it| (10_f64.powf(f64::from(it) / 13.0), f64::from(it * it))).collect())]);
    assert_snapshot!(chart.to_text(), @"
    A chart
      1.60 kB ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⠤
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⣀⠤⠊⠁
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡠⠔⠋
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡠⠔⠊⠁
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡠⠔⠊⠉
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⣀⠤⠖⠊⠁
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⣀⣠⠤⠖⠊⠁
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⣀⡠⠤⠖⠒⠉⠁
              ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⣀⣀⠤⠤⠔⠒⠋⠉
         0 kB ┤⣀⣀⣀⣀⣀⣀⣀⡤⠤⠤⠤⠤⠖⠒⠒⠚⠉⠉⠁
              └────────────────────────────────────────────────────────────
               1.00                                                    1000
               queue against frequency
    ");
}

#[test]
fn bars_are_told_by_name_and_value() {
    let rows = vec![("sim/model".to_owned(), 200.0), ("proto <&>".to_owned(), 50.0)];
    let across = Axis::straight("instructions", Unit::Plain);
    let up = Axis::straight("file", Unit::Plain);
    let plots = vec![Plot { title: String::new(), across, up, marks: vec![Mark::Bars(rows)] }];
    let chart = Chart { title: "A chart".into(), stem: "chart".into(), caption: String::new(), plots };
    let svg = chart.to_svg();
    assert_eq!(svg.matches("<rect").count(), 1 + 2);
    assert!(svg.contains("proto &lt;&amp;&gt;"));
    assert_snapshot!(chart.to_text(), @"
    A chart
      sim/model ┤████████████████████████████████████████ 200
      proto <&> ┤██████████ 50.0
                instructions
    ");
    assert_snapshot!(chart.to_csv(), @"
    plot,series,across,up,value
    A chart,sim/model,,,200
    A chart,proto <&>,,,50
    ");
}
